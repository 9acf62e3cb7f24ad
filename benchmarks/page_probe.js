/** What bench_pages.py adds to a page that it measures: clocks, and taps that record what sounds. */

(() => {
  /**
   * @typedef {{at: number, samples: Float32Array, came: number}} Recorded 128 samples, and when word of them came
   *
   * @typedef {object} Tap
   * @property {AudioContext} context
   * @property {AudioWorkletNode} node
   * @property {Recorded[]} parts
   * @property {AudioNode[]} sources
   * @property {boolean} on
   *
   * @typedef {HTMLAudioElement & {captureStream: () => MediaStream}} Capturing not a standard yet
   */

  const RECORDER = `
    registerProcessor("recorder", class extends AudioWorkletProcessor {
      process([[left]]) {
        if (left) this.port.postMessage({ at: currentTime, samples: left.slice() });
        return true;
      }
    });`;

  const connect = AudioNode.prototype.connect;

  /**
   * Beside the page's own connections, which are noted.
   * @param {AudioNode} source
   * @param {AudioNode} target
   */
  function join(source, target) {
    Reflect.apply(connect, source, [target]);
  }

  class Probe {
    /** @type {Record<string, number>} when what was asked for was shown */
    marks = {};
    /** @type {AudioNode[]} what the page has connected to its output */
    outs = [];
    /** @type {Tap[]} */
    taps = [];
    /** @type {AudioContext | null} */
    ear = null;

    /**
     * Notes when a frame that answers the question has been shown; asked once a frame.
     * @param {string} name
     * @param {() => unknown} question
     */
    watch(name, question) {
      const look = () => {
        let found;
        try {
          found = question();
        } catch {
          found = false; // not there yet
        }
        if (!found) {
          requestAnimationFrame(look);
          return;
        }
        const channel = new MessageChannel(); // its message comes after this frame was painted
        channel.port1.onmessage = () => {
          this.marks[name] = performance.now();
        };
        channel.port2.postMessage(0);
      };
      requestAnimationFrame(look);
    }

    /**
     * A tap on this graph, recording anew.
     * @param {AudioContext} context
     * @returns {Promise<Tap>}
     */
    async recorder(context) {
      const known = this.taps.find((tap) => tap.context === context);
      if (known) {
        known.parts = [];
        known.on = true;
        return known;
      }
      const address = URL.createObjectURL(new Blob([RECORDER], { type: "text/javascript" }));
      await context.audioWorklet.addModule(address);
      const node = new AudioWorkletNode(context, "recorder", { numberOfOutputs: 0 });
      /** @type {Tap} */
      const tap = { context, node, parts: [], sources: [], on: true };
      node.port.onmessage = ({ data }) => {
        if (tap.on) tap.parts.push({ ...data, came: performance.now() });
      };
      this.taps.push(tap);
      return tap;
    }

    /** Records what the page's audio elements play: a copy of their sound, so it comes a little late. */
    async tapElements() {
      const ear = (this.ear ??= new AudioContext({ latencyHint: "interactive" }));
      await ear.resume();
      const { node, sources } = await this.recorder(ear);
      for (const audio of document.querySelectorAll("audio")) {
        const stream = /** @type {Capturing} */ (audio).captureStream();
        const listen = () => {
          if (!stream.getAudioTracks().length) return;
          const source = ear.createMediaStreamSource(stream);
          join(source, node);
          sources.push(source);
        };
        listen();
        stream.addEventListener("addtrack", listen);
      }
    }

    /** Records what goes to the output of the page's own graph. */
    async tapGraph() {
      const out = this.outs[this.outs.length - 1];
      if (!(out.context instanceof AudioContext)) throw new Error("this graph makes no sound");
      const { node, sources } = await this.recorder(out.context);
      join(out, node);
      sources.push(out);
    }

    /** Records no more. */
    untap() {
      for (const tap of this.taps) {
        tap.on = false;
        for (const source of tap.sources.splice(0)) source.disconnect(tap.node);
        tap.parts = [];
      }
    }

    /**
     * When the first sound louder than this left, on the page's clock, and when word of it came.
     * @param {number} after
     * @param {number} [loud]
     */
    firstSound(after, loud = 0.02) {
      for (const { context, parts } of this.taps) {
        const { contextTime = 0, performanceTime = 0 } = context.getOutputTimestamp();
        for (const { at, samples, came } of parts) {
          if (came < after) continue;
          const k = samples.findIndex((x) => Math.abs(x) > loud);
          if (k < 0) continue;
          const time = at + k / context.sampleRate;
          const left = performanceTime + 1000 * (time - contextTime);
          return { left, came, time, base: context.baseLatency, output: context.outputLatency };
        }
      }
      return null;
    }

    /** The samples of the last recording, and when word of each 128 of them came. */
    recording() {
      const { context, parts } = this.taps[this.taps.length - 1];
      const samples = parts.flatMap((part) => [...part.samples]);
      return { rate_hz: context.sampleRate, samples, came: parts.map((part) => part.came) };
    }
  }

  const probe = new Probe();
  Object.assign(window, { probe });

  for (const kind of ["click", "keydown"]) {
    const options = { capture: true, passive: true };
    window.addEventListener(kind, (event) => (probe.marks[`last_${kind}`] = event.timeStamp), options);
  }

  AudioNode.prototype.connect = function (/** @type {AudioNode | AudioParam} */ target, /** @type {unknown[]} */ ...more) {
    if (target instanceof AudioDestinationNode) probe.outs.push(this);
    return Reflect.apply(connect, this, [target, ...more]);
  };
})();

/** What bench_pages.py adds to a page that it measures: clocks, and taps that record what sounds. */

(() => {
  const probe = { marks: {}, outs: [], taps: [] };
  window.probe = probe;

  /** Notes when a frame that answers the question has been shown; asked once a frame. */
  probe.watch = (name, question) => {
    const look = () => {
      let found = false;
      try {
        found = question();
      } catch {
        found = false; // not there yet
      }
      if (!found) return requestAnimationFrame(look);
      const channel = new MessageChannel(); // its message comes after this frame was painted
      channel.port1.onmessage = () => {
        probe.marks[name] = performance.now();
      };
      channel.port2.postMessage(0);
      return 0;
    };
    requestAnimationFrame(look);
  };

  for (const kind of ["click", "keydown"]) {
    const options = { capture: true, passive: true };
    window.addEventListener(kind, (event) => (probe.marks[`last_${kind}`] = event.timeStamp), options);
  }

  const connect = AudioNode.prototype.connect;
  AudioNode.prototype.connect = function (target, ...more) {
    if (target instanceof AudioDestinationNode) probe.outs.push(this);
    return connect.call(this, target, ...more);
  };

  const RECORDER = `
    registerProcessor("recorder", class extends AudioWorkletProcessor {
      process([[left]]) {
        if (left) this.port.postMessage({ at: currentTime, samples: left.slice() });
        return true;
      }
    });`;

  const recorder = async (context) => {
    const known = probe.taps.find((tap) => tap.context === context);
    if (known) {
      known.parts = [];
      known.on = true;
      return known.node;
    }
    const address = URL.createObjectURL(new Blob([RECORDER], { type: "text/javascript" }));
    await context.audioWorklet.addModule(address);
    const node = new AudioWorkletNode(context, "recorder", { numberOfOutputs: 0 });
    const tap = { context, node, parts: [], sources: [], on: true };
    node.port.onmessage = ({ data }) => {
      if (tap.on) tap.parts.push({ ...data, came: performance.now() });
    };
    probe.taps.push(tap);
    return node;
  };

  /** Records what the page's audio elements play: a copy of their sound, so it comes a little late. */
  probe.tapElements = async () => {
    probe.ear ??= new AudioContext({ latencyHint: "interactive" });
    await probe.ear.resume();
    const node = await recorder(probe.ear);
    const { sources } = probe.taps.find((tap) => tap.context === probe.ear);
    for (const audio of document.querySelectorAll("audio")) {
      const stream = audio.captureStream();
      const listen = () => {
        if (!stream.getAudioTracks().length) return;
        const source = probe.ear.createMediaStreamSource(stream);
        connect.call(source, node);
        sources.push(source);
      };
      listen();
      stream.addEventListener("addtrack", listen);
    }
  };

  /** Records what goes to the output of the page's own graph. */
  probe.tapGraph = async () => {
    const out = probe.outs[probe.outs.length - 1];
    const node = await recorder(out.context);
    connect.call(out, node);
    probe.taps.find((tap) => tap.node === node).sources.push(out);
  };

  /** Records no more. */
  probe.untap = () => {
    for (const tap of probe.taps) {
      tap.on = false;
      for (const source of tap.sources.splice(0)) source.disconnect(tap.node);
      tap.parts = [];
    }
  };

  /** When the first sound louder than this left, on the page's clock, and when word of it came. */
  probe.firstSound = (after, loud = 0.02) => {
    for (const { context, parts } of probe.taps) {
      const { contextTime, performanceTime } = context.getOutputTimestamp();
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
  };

  /** The samples of the last recording, and when word of each 128 of them came. */
  probe.recording = () => {
    const { context, parts } = probe.taps[probe.taps.length - 1];
    const samples = parts.flatMap((part) => [...part.samples]);
    return { rate_hz: context.sampleRate, samples, came: parts.map((part) => part.came) };
  };
})();

"""What a page sends to the loudspeaker, taken where it is computed: nothing of it can be missed."""

from __future__ import annotations

# A tap gives its samples away in parcels, and says so ("flushed") when all before a word are out.
WORKLET = """registerProcessor("tap", class extends AudioWorkletProcessor {
    constructor() {
        super();
        this.samples = [];
        this.port.onmessage = () => { this.send(); this.port.postMessage("flushed"); };
    }
    send() {
        this.port.postMessage(Float32Array.from(this.samples));
        this.samples = [];
    }
    process([[samples]]) {
        if (samples) this.samples.push(...samples);
        if (this.samples.length >= 2048) this.send();
        return true;
    }
});"""
# The loudest sample so far of each audio element of the page.
PEAKS = """async () => {
    const context = new AudioContext();
    await context.resume();
    await context.audioWorklet.addModule("/static/js/tap.test.js");
    window.peaks = [...document.querySelectorAll("audio")].map((audio, place) => {
        const tap = new AudioWorkletNode(context, "tap");
        const source = context.createMediaElementSource(audio);
        source.connect(tap);
        source.connect(context.destination);
        tap.port.onmessage = ({ data }) => {
            window.peaks[place] = Math.max(window.peaks[place], ...data.map(Math.abs));
        };
        return 0;
    });
}"""
# All that goes to the page's loudspeaker, from the first sound on; `late` counts what the page
# asked for when its time had come already.
TAP = """(() => {
    window.captured = [];
    window.late = 0;
    const connect = AudioNode.prototype.connect;
    const { start } = AudioBufferSourceNode.prototype;
    const curve = AudioParam.prototype.setValueCurveAtTime;
    AudioNode.prototype.connect = function (target, ...rest) {
        if (target instanceof AudioDestinationNode && this.context instanceof AudioContext) {
            this.context.audioWorklet.addModule("/static/js/tap.test.js").then(() => {
                const tap = new AudioWorkletNode(this.context, "tap");
                tap.port.onmessage = ({ data }) => {
                    if (data === "flushed") window.flushed?.();
                    else for (const sample of data) window.captured.push(sample);
                };
                connect.call(this, tap);
                window.recorder = { context: this.context, tap };
            });
        }
        return connect.call(this, target, ...rest);
    };
    AudioBufferSourceNode.prototype.start = function (at, ...rest) {
        start.call(this, at, ...rest);
        if (this.context.currentTime >= at) window.late += 1;
    };
    AudioParam.prototype.setValueCurveAtTime = function (values, at, ...rest) {
        curve.call(this, values, at, ...rest);
        if (window.recorder.context.currentTime >= at) window.late += 1;
    };
})();"""
# Until all that sounded is in the record.
FLUSH = """async () => {
    const { context, tap } = window.recorder;
    const silent = context.currentTime + 0.2;
    while (context.currentTime < silent) await new Promise((resolve) => setTimeout(resolve, 20));
    await new Promise((resolve) => { window.flushed = resolve; tap.port.postMessage("flush"); });
}"""

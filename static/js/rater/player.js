/** One clip with a button and a bar of its own: in checks, examples and after practice. */

import { setText, view } from "../shared/dom.js";
import { drawPlayer } from "./playerview.js";
import { Sound } from "./sound.js";
import { say } from "./strings.js";

export { MAX_DECODE_ERRORS } from "./sound.js";

/** A sound with a face; fires what the sound fires. */
export class Player extends Sound {
  /**
   * @param {{name: string, clip: import("./clips.js").Clip, loop?: boolean,
   *          draft?: import("../shared/wire.js").SoundDraft}} options
   */
  constructor(options) {
    super(options);
    const { root, part } = view("view-player");
    this.root = root;
    this.part = part;
    this.locked = "";
    this.build();
    this.addEventListener("draw", () => drawPlayer(this));
    this.draw();
  }

  /** What this is called beside its button. */
  get title() {
    return this.name;
  }

  build() {
    const { part, root, name } = this;
    root.append(this.audio);
    root.setAttribute("aria-label", name);
    part("progress").setAttribute("aria-label", say("playback_of", { name }));
    setText(part("again-name"), say("toggle_of", { action: say("again"), name }));
    part("again").title = say("again");
    part("again").hidden = this.loop;
    part("toggle").addEventListener("click", () => this.toggle());
    part("again").addEventListener("click", () => this.again());
    part("retry").addEventListener("click", () => this.retry());
  }

  get state() {
    return this.locked ? "locked" : super.state;
  }

  /** @param {string} reason why this clip may not be played yet; "" when it may */
  lock(reason) {
    this.locked = reason;
    this.draw();
  }

  toggle() {
    if (!this.locked) super.toggle();
  }

  again() {
    if (!this.locked) super.again();
  }
}

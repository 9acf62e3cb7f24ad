/** What hands leave behind and programs do not: a mouse comes to a place by a way, keys are pressed. */

const NEAR_PX = 30; // a mouse that only trembles reports no move

/** Counts for one trial; nothing of where and when is kept. */
export class PointerFacts {
  /** @param {AbortSignal} signal */
  constructor(signal) {
    this.jumps = 0;
    this.scripted = 0;
    /** @type {{x: number, y: number} | null} */
    this.last = null;
    const listening = { signal, capture: true, passive: true };
    document.addEventListener("pointermove", (event) => this.moved(event), listening);
    document.addEventListener("pointerdown", (event) => this.pressed(event), listening);
    for (const kind of ["click", "keydown"]) {
      document.addEventListener(kind, (event) => this.made(event), listening);
    }
  }

  /** @param {PointerEvent} event */
  moved(event) {
    if (event.pointerType === "mouse") this.last = { x: event.clientX, y: event.clientY };
  }

  /** Fingers and pens come down anywhere; a mouse was moved there. @param {PointerEvent} event */
  pressed(event) {
    if (event.pointerType !== "mouse") return;
    const { clientX: x, clientY: y } = event;
    if (this.last && Math.hypot(x - this.last.x, y - this.last.y) > NEAR_PX) this.jumps += 1;
    this.last = { x, y };
  }

  /** A label passes its click on to its input: that one counts as the hand's. @param {Event} event */
  made(event) {
    if (!event.isTrusted) this.scripted += 1;
  }
}

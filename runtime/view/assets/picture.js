// The flow's picture, with the held state lit and the last way marked.

const READABLE = 0.8; // of its own size, at least: then its words have 9.6 pixels

class Picture {
  constructor(box, onState) {
    this.box = box;
    this.onState = onState;
    this.style = document.head.appendChild(document.createElement("style"));
    this.marked = [];
    this.dot = null;
    new ResizeObserver(([entry]) => this.fit(entry.contentRect)).observe(box);
    box.addEventListener("click", (event) => {
      const card = event.target.closest("[id^='state-']");
      if (card) this.onState(card.id.slice("state-".length));
    });
  }

  draw(flow) {
    this.flow = flow;
    const { light, dark } = flow.themes;
    this.style.textContent = `${light.css}\n:root[data-theme=dark]{${dark.css}}`;
    const parsed = new DOMParser().parseFromString(flow.svg, "image/svg+xml").documentElement;
    this.svg = document.importNode(parsed, true);
    for (const part of this.svg.querySelectorAll(".paper, .heading")) part.remove();
    this.svg.setAttribute("aria-label", `The flow ${flow.name} as a picture of its states`);
    this.box.replaceChildren(this.svg);
    this.marked = [];
    this.ghost = null;
    this.fit(this.room);
  }

  // The picture fills its box. Where it would be too small to read, the box scrolls.
  fit(room) {
    this.room = room;
    if (!this.svg || !room?.width || !room.height) return;
    const { x, y, width, height } = this.svg.getBBox(), edge = 4;
    const scale = Math.max(READABLE, Math.min(room.width / (width + 2 * edge), room.height / (height + 2 * edge)));
    this.svg.setAttribute("viewBox", `${x - edge} ${y - edge} ${width + 2 * edge} ${height + 2 * edge}`);
    this.svg.setAttribute("width", Math.floor((width + 2 * edge) * scale));
    this.svg.setAttribute("height", Math.floor((height + 2 * edge) * scale));
    this.scrolls = (height + 2 * edge) * scale > room.height + 1 || (width + 2 * edge) * scale > room.width + 1;
    this.look();
  }

  // The held state is in sight.
  look() {
    const card = this.scrolls && this.svg.querySelector(".current")?.getBBox();
    if (!card) return;
    const { x, y, width, height } = this.svg.viewBox.baseVal, { box } = this;
    const to = (middle, whole, room) => (middle / whole) * room;
    box.scrollTo(
      to(card.x + card.width / 2 - x, width, box.scrollWidth) - box.clientWidth / 2,
      to(card.y + card.height / 2 - y, height, box.scrollHeight) - box.clientHeight / 2,
    );
  }

  part(kind, name) {
    return this.svg.querySelector(`[id="${CSS.escape(`${kind}-${name}`)}"]`);
  }

  mark(node, name) {
    if (!node) return;
    node.classList.add(name);
    this.marked.push([node, name]);
  }

  // Light a state; `move` is the transition that led there, `refusal` what it has refused since.
  show(state, move, refusal, animated) {
    if (!this.svg) return;
    for (const [node, name] of this.marked) node.classList.remove(name);
    this.marked = [];
    this.ghost?.remove();
    this.ghost = null;
    const card = this.part("state", state);
    this.mark(card, "current");
    if (refusal) this.mark(card, "deny");
    if (state !== this.held) this.look();
    this.held = state;
    if (!move || move.s === move.d) return;
    const way = this.part("edge", `${move.s}--${move.d}`);
    this.mark(way, "taken");
    const label = this.part("label", `${move.s}--${move.d}`);
    this.mark(label, "now");
    const paths = way ? [...way.querySelectorAll("path.edge")] : [this.connect(move.s, move.d)];
    if (animated) this.fly(paths.filter(Boolean));
  }

  // A way that the overview does not draw, because many states have it alike.
  connect(source, dest) {
    const from = this.part("state", source)?.getBBox(), to = this.part("state", dest)?.getBBox();
    if (!from || !to) return null;
    const path = document.createElementNS(this.svg.namespaceURI, "path");
    const x = from.x + from.width - 8, y = from.y + from.height / 2;
    const end = to.y + to.height / 2, bow = 60 + Math.abs(end - y) / 5;
    path.setAttribute("d", `M${x} ${y}C${x + bow} ${y} ${to.x + to.width + bow} ${end} ${to.x + to.width} ${end}`);
    path.setAttribute("class", "way");
    this.svg.append(path);
    this.ghost = path;
    return path;
  }

  fly(paths) {
    this.dot?.remove();
    if (!paths.length || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    const dot = document.createElementNS(this.svg.namespaceURI, "circle");
    dot.setAttribute("r", 6);
    dot.setAttribute("class", "dot");
    this.svg.append(dot);
    this.dot = dot;
    const lengths = paths.map((path) => path.getTotalLength());
    const whole = lengths.reduce((sum, length) => sum + length, 0);
    const began = performance.now();
    const frame = (now) => {
      if (this.dot !== dot) return;
      const part = Math.min(1, (now - began) / 450);
      let along = part * whole, k = 0;
      while (k + 1 < paths.length && along > lengths[k]) along -= lengths[k++];
      const { x, y } = paths[k].getPointAtLength(along);
      dot.setAttribute("cx", x);
      dot.setAttribute("cy", y);
      if (part < 1) requestAnimationFrame(frame);
      else dot.remove();
    };
    requestAnimationFrame(frame);
  }
}

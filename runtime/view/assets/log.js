// The list of events: of any length, with as many elements as fit on the screen.

const ROW = 30;
const REASON = { line: 17, letter: 6.6, beside: 92 }; // pixels of a reason, which has lines of its own

class EventList {
  constructor(box, onSeek) {
    this.box = box;
    this.onSeek = onSeek;
    this.shown = []; // numbers of records, in their order
    this.tops = [0]; // where each of them begins, in pixels, and where the last one ends
    this.current = -1;
    this.pool = [];
    this.scrolling = null;
    this.inner = box.appendChild(element("div", { class: "inner", role: "presentation" }));
    this.top = this.height = 0; // known without asking the box, which would lay the page out
    box.addEventListener("scroll", () => {
      if (this.scrolling) return;
      this.top = box.scrollTop;
      this.render();
    }, { passive: true });
    new ResizeObserver(([entry]) => {
      const { width, height } = entry.contentRect;
      this.height = height;
      if (width !== this.width) this.measure(width);
      this.point(this.current);
    }).observe(box);
    box.addEventListener("click", (event) => {
      const row = event.target.closest(".row");
      if (row) this.onSeek(+row.dataset.i);
    });
    box.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10 };
    if (!(event.key in steps) || !this.shown.length) return;
    event.preventDefault();
    event.stopPropagation();
    const at = Math.max(0, this.position(this.current) + steps[event.key]);
    this.onSeek(this.shown[Math.min(this.shown.length - 1, at)]);
  }

  filter(recording, { words, kind, trigger, state }) {
    this.recording = recording;
    const wanted = words.toLowerCase();
    const kinds = {
      decisions: (row) => row.k !== undefined,
      moves: (row) => row.e && row.s !== row.d,
      refusals: (row) => recording.isRefusal(row),
      notes: (row) => row.m !== undefined,
    };
    const test = kinds[kind];
    const shown = [];
    recording.records.forEach((row, i) => {
      if (test && !test(row)) return;
      if (trigger && row.k !== trigger) return;
      if (state && row.s !== state && row.d !== state) return;
      if (wanted && !headline(recording, i).join(" ").toLowerCase().includes(wanted)) return;
      shown.push(i);
    });
    this.shown = shown;
    this.measure(this.width);
    this.render();
  }

  // A reason is shown whole: a refusal is as high as its reason needs.
  measure(width = 0) {
    this.width = width;
    const { recording } = this, letters = Math.max(20, (width - REASON.beside) / REASON.letter);
    this.tops = [0];
    for (const i of this.shown) {
      const reason = recording.refused(recording.records[i]) ? headline(recording, i)[1].length : 0;
      this.tops.push(this.tops.at(-1) + ROW + REASON.line * Math.min(6, Math.ceil(reason / letters)));
    }
    this.inner.style.height = `${this.tops.at(-1)}px`;
    for (const row of this.pool) row.dataset.i = "";
  }

  // The place in the list at this height.
  at(y) {
    let low = 0, high = this.shown.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.tops[middle + 1] <= y) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  // Where a record stands in the list; of one that is filtered out, the one before it.
  position(i) {
    let low = 0, high = this.shown.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.shown[middle] <= i) low = middle + 1;
      else high = middle;
    }
    return low - 1;
  }

  point(i) {
    this.current = i;
    const at = Math.max(0, this.position(i)), top = this.tops[at], { height } = this;
    if (height && (top < this.top + ROW || top > this.top + height - 3 * ROW)) {
      this.top = Math.max(0, Math.min(this.tops.at(-1) - height, top - height * 0.4));
      this.scrolling ??= setTimeout(() => { // after the frame, when it is laid out
        this.scrolling = null;
        this.box.scrollTop = this.top;
      });
    }
    this.render();
  }

  render() {
    if (!this.recording) return;
    const first = Math.max(0, this.at(this.top) - 2);
    const count = Math.min(this.shown.length - first, Math.ceil(this.height / ROW) + 4);
    while (this.pool.length < count) this.pool.push(this.inner.appendChild(this.made()));
    const at = this.position(this.current);
    this.pool.forEach((row, k) => {
      row.hidden = k >= count;
      if (row.hidden) return;
      const i = this.shown[first + k];
      if (row.dataset.i !== String(i)) this.fill(row, i, first + k);
      row.style.transform = `translateY(${this.tops[first + k]}px)`;
      row.classList.toggle("future", i > this.current);
      row.setAttribute("aria-selected", String(first + k === at));
    });
    const held = this.pool.find((row) => !row.hidden && row.getAttribute("aria-selected") === "true");
    if (held) this.box.setAttribute("aria-activedescendant", held.id);
    else this.box.removeAttribute("aria-activedescendant");
  }

  made() {
    const row = element("div", { class: "row", role: "option", id: `row-${this.pool.length}` });
    row.append(element("span", { class: "when" }), element("span", { class: "dotlet" }), element("b"), element("span", { class: "rest" }));
    return row;
  }

  fill(row, i, at) {
    const record = this.recording.records[i];
    const [what, rest] = headline(this.recording, i);
    const [when, dot, name, details] = row.children;
    row.dataset.i = i;
    when.textContent = record.t.toFixed(2);
    name.textContent = what.slice(0, 80);
    details.textContent = rest.slice(0, 400);
    row.title = rest.slice(0, 400);
    row.style.height = `${this.tops[at + 1] - this.tops[at]}px`;
    details.dir = "auto";
    row.setAttribute("aria-posinset", at + 1);
    row.setAttribute("aria-setsize", this.shown.length);
    row.className = `row ${kindOf(this.recording, record)}`;
    const number = record.e ? this.recording.stateNames.indexOf(record.d) % 12 : -1;
    dot.style.background = number >= 0 ? `var(--state-${number})` : "";
  }
}

function kindOf(recording, row) {
  if (row.m !== undefined) return "note";
  if (row.q === "ignores") return "ignored";
  if (row.q !== undefined) return recording.isTimer(row.k) ? "held-back" : "refused";
  if (row.e) return "move";
  return recording.isTimer(row.k) ? "timer" : "stay";
}

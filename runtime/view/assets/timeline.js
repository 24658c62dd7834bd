// The lanes over time, on a canvas; only what is in view is drawn, so that hours cost no more.

const LANE = { axis: 18, speech: 40, wait: 20, tool: 20, state: 24, mark: 18 };
const LEFT = 62;

class Timeline {
  constructor(box, canvas, cursor, tip, onSeek) {
    Object.assign(this, { box, canvas, cursor, tip, onSeek });
    this.from = 0;
    this.to = 1;
    this.lead = 0.1; // where in the view the cursor comes to stand when the view moves
    this.recording = null;
    this.room = 0; // seconds that are shown although they are still to come
    this.sound = null;
    this.hits = [];
    this.width = box.clientWidth;
    new ResizeObserver(([entry]) => {
      this.width = entry.contentRect.width; // reading it from the box would lay the page out
      this.redraw();
    }).observe(box);
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      this.dragging = true;
      this.onSeek(this.timeOf(event));
    });
    canvas.addEventListener("pointermove", (event) => {
      if (this.dragging) this.onSeek(this.timeOf(event));
      this.hover(event);
    });
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => { this.dragging = false; });
    canvas.addEventListener("pointerleave", () => { this.tip.hidden = true; });
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  // The colours have changed.
  recolor() {
    const css = getComputedStyle(document.documentElement), known = new Map();
    this.color = (name) => {
      if (!known.has(name)) known.set(name, css.getPropertyValue(`--${name}`).trim());
      return known.get(name);
    };
    this.redraw();
  }

  x(t) { return LEFT + ((t - this.from) / (this.to - this.from)) * (this.width - LEFT - 8); }
  timeAt(x) { return this.from + ((x - LEFT) / (this.width - LEFT - 8)) * (this.to - this.from); }
  timeOf(event) { return this.timeAt(event.clientX - this.canvas.getBoundingClientRect().left); }

  wheel(event) {
    if (!event.ctrlKey && !event.shiftKey && !event.deltaX) return;
    event.preventDefault();
    if (event.ctrlKey) this.zoom(Math.exp(event.deltaY / 300), this.timeOf(event));
    else this.pan(((event.deltaX || event.deltaY) / this.width) * (this.to - this.from));
  }

  zoom(factor, around) {
    const span = Math.min(Math.max(this.recording.end, this.room), Math.max(2, (this.to - this.from) * factor));
    const share = (around - this.from) / (this.to - this.from);
    this.view(around - share * span, span);
  }

  pan(by) { this.view(this.from + by, this.to - this.from); }
  fit() { this.view(0, this.recording.end); }

  view(from, span) {
    this.from = Math.max(0, Math.min(from, Math.max(this.recording.end, this.room) - span));
    this.to = this.from + span;
    this.redraw();
  }

  show(recording, sound) {
    this.recording = recording;
    this.sound = sound;
    this.redraw();
  }

  // Put the cursor at a second; when it leaves what is in view, the view goes along.
  point(t, follow) {
    this.t = t;
    const span = this.to - this.from;
    if (follow && (t < this.from || t > this.to) && this.recording) this.view(t - span * this.lead, span);
    this.cursor.style.transform = `translateX(${this.x(t).toFixed(1)}px)`;
    this.cursor.hidden = t < this.from || t > this.to;
  }

  redraw() {
    if (!this.recording || this.pending) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = 0;
      this.draw();
      if (this.t !== undefined) this.point(this.t, false);
    });
  }

  draw() {
    const ratio = devicePixelRatio || 1, { user, agent, tools } = this.recording.lanes;
    const height = LANE.axis + 2 * LANE.speech + (hasWaits(this.recording) ? LANE.wait : 0) + (tools.length ? LANE.tool : 0) + LANE.state + LANE.mark + 4;
    this.canvas.width = this.width * ratio;
    this.canvas.height = height * ratio;
    this.canvas.style.height = `${height}px`;
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    this.pen = pen;
    this.hits = [];
    let y = this.axis(height);
    y = this.speech("user", user, 0, y);
    y = this.speech("agent", agent, 1, y);
    if (hasWaits(this.recording)) y = drawWaits(this, y);
    if (tools.length) y = this.tools(tools, y);
    y = this.states(y);
    this.refusals(y);
  }

  font(size, weight = 400) { this.pen.font = `${weight} ${size}px Inter, system-ui, sans-serif`; }
  name(words, y) {
    this.font(11);
    this.pen.fillStyle = this.color("quiet");
    this.pen.fillText(words, 8, y);
  }

  axis(height) {
    const span = this.to - this.from, pen = this.pen;
    const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600].find((s) => (s / span) * this.width > 62) ?? 1800;
    this.font(10);
    for (let t = Math.ceil(this.from / step) * step; t <= this.to + 1e-9; t += step) {
      const x = Math.round(this.x(t)) + 0.5;
      pen.strokeStyle = this.color("grid");
      pen.beginPath();
      pen.moveTo(x, LANE.axis - 3);
      pen.lineTo(x, height);
      pen.stroke();
      pen.fillStyle = this.color("quiet");
      const minutes = Math.floor(t / 60), rest = +(t - 60 * minutes).toFixed(1);
      pen.fillText(this.recording.end >= 60 ? `${minutes}:${String(rest).padStart(2, "0")}` : `${rest} s`, x + 3, LANE.axis - 6);
    }
    return LANE.axis;
  }

  // The spans in view; lanes are in the order of time.
  seen(spans) { return spans.filter((span) => span.b >= this.from && span.a <= this.to); }

  boxOf(span, y, height) {
    const a = Math.max(LEFT, this.x(span.a)), b = Math.min(this.width - 8, this.x(span.b));
    return { x: a, y, w: Math.max(1.5, b - a), h: height };
  }

  rounded(box, fill, radius = 4) {
    this.pen.fillStyle = fill;
    this.pen.beginPath();
    this.pen.roundRect(box.x, box.y, box.w, box.h, Math.min(radius, box.w / 2));
    this.pen.fill();
  }

  words(text, x, y, room, color, size = 11, weight = 400) {
    if (!text || room < 22) return;
    const pen = this.pen;
    this.font(size, weight);
    pen.fillStyle = color;
    let said = text.slice(0, Math.ceil(room / 3)); // no letter that matters is narrower
    if (pen.measureText(said).width > room) {
      let low = 0, high = said.length;
      while (low < high) {
        const middle = (low + high + 1) >> 1;
        if (pen.measureText(`${said.slice(0, middle)}…`).width <= room) low = middle;
        else high = middle - 1;
      }
      if (low < 2) return;
      said = `${said.slice(0, low)}…`;
    }
    pen.save();
    pen.direction = "ltr";
    pen.fillText(said, x, y);
    pen.restore();
  }

  speech(who, spans, channel, y) {
    this.name(who, y + 14);
    const seen = this.seen(spans);
    seen.forEach((span, k) => {
      const box = this.boxOf(span, y + 2, 20);
      this.pen.globalAlpha = this.peaks(channel) ? 0.22 : 0.85;
      this.rounded(box, this.color(who));
      this.pen.globalAlpha = 1;
      this.hits.push([box, () => span.label || (who === "user" ? "the user spoke" : "the agent was heard")]);
      const room = (k + 1 < seen.length ? Math.max(box.x + 1, this.x(seen[k + 1].a)) : this.width) - box.x - 6;
      this.words(span.label, box.x + 1, y + 34, room, this.color("ink"));
    });
    if (channel === 1) {
      for (const pause of this.seen(this.recording.lanes.pauses)) this.pause(this.boxOf(pause, y + 3, 18));
    }
    this.wave(who, channel, y + 12);
    for (const span of seen) if (span.interrupted) this.zigzag(this.x(span.b), y);
    return y + LANE.speech;
  }

  pause(box) {
    const pen = this.pen;
    pen.save();
    pen.setLineDash([4, 3]);
    pen.strokeStyle = this.color("agent");
    pen.fillStyle = this.color("panel");
    pen.fillRect(box.x, box.y, box.w, box.h);
    pen.strokeRect(box.x + 0.5, box.y + 0.5, Math.max(0, box.w - 1), box.h - 1);
    pen.restore();
    this.words("paused", box.x + 5, box.y + 13, box.w - 8, this.color("quiet"), 10);
    this.hits.push([box, () => "the agent's audio was paused"]);
  }

  zigzag(x, y, height = 24) {
    if (x < LEFT) return;
    const pen = this.pen;
    pen.strokeStyle = this.color("accent");
    pen.lineWidth = 3;
    pen.beginPath();
    pen.moveTo(x - 4, y - 1);
    pen.lineTo(x + 4, y + height + 1);
    pen.stroke();
    pen.lineWidth = 1;
    this.hits.push([{ x: x - 5, y, w: 10, h: height }, () => "interrupted"]);
  }

  peaks(channel) {
    const sound = this.sound;
    return sound ? sound.peaks[sound.channels === 2 ? channel : 0] : null;
  }

  wave(who, channel, middle) {
    const peaks = this.peaks(channel);
    if (!peaks || (this.sound.channels === 1 && channel === 0)) return;
    const per = peaks.length / this.sound.seconds, pen = this.pen;
    pen.fillStyle = this.color(who);
    for (let x = LEFT; x < this.width - 8; x += 2) {
      const a = Math.floor((this.timeAt(x) - this.sound.offset) * per);
      const b = Math.max(a + 1, Math.floor((this.timeAt(x + 2) - this.sound.offset) * per));
      let most = 0;
      for (let k = Math.max(0, a); k < b && k < peaks.length; k++) most = Math.max(most, peaks[k]);
      const h = Math.sqrt(most / 255) * 11;
      if (h > 1) pen.fillRect(x, middle - h, 1.4, 2 * h);
    }
  }

  tools(spans, y) {
    this.name("tools", y + 13);
    let free = 0;
    for (const span of this.seen(spans)) {
      const box = this.boxOf(span, y + 2, 14);
      this.rounded(box, this.color("tool"), 3);
      if (span.kind === "error" || span.kind === "cancelled") this.zigzag(this.x(span.b), y, 18);
      this.hits.push([box, () => `${span.label} ${span.kind ?? ""}`]);
      if (box.x > free) {
        this.words(span.label, box.x + 5, y + 13, box.w - 8, this.color("panel"), 10.5, 600);
        free = box.x + box.w;
      }
    }
    return y + LANE.tool;
  }

  states(y) {
    this.name("state", y + 15);
    const order = this.recording.stateNames;
    for (const span of this.seen(this.recording.lanes.states)) {
      const box = this.boxOf(span, y + 2, 18);
      const number = order.indexOf(span.label);
      this.rounded(box, this.color(`state-${((number % 12) + 12) % 12}`), 2);
      this.hits.push([box, () => `${span.label}  ${(span.b - span.a).toFixed(2)} s`]);
      this.words(span.label, box.x + 4, y + 15, box.w - 6, this.color("panel"), 11, 600);
    }
    return y + LANE.state;
  }

  refusals(y) {
    this.name("refused", y + 12);
    const pen = this.pen;
    const marks = this.seen(this.recording.lanes.refusals);
    for (const [k, mark] of marks.entries()) {
      const x = this.x(mark.a), after = k + 1 < marks.length ? this.x(marks[k + 1].a) : this.width;
      pen.strokeStyle = this.color(mark.kind === "ignores" ? "quiet" : "refused");
      pen.lineWidth = 2;
      pen.beginPath();
      pen.moveTo(x - 3.5, y + 4.5);
      pen.lineTo(x + 3.5, y + 11.5);
      pen.moveTo(x + 3.5, y + 4.5);
      pen.lineTo(x - 3.5, y + 11.5);
      pen.stroke();
      pen.lineWidth = 1;
      this.hits.push([{ x: x - 5, y: y + 2, w: 10, h: 14 }, () => `${mark.label} refused in ${mark.state}: ${mark.why}`]);
      this.words(mark.label, x + 7, y + 12, Math.min(150, after - x - 14), this.color("refused"), 10);
    }
  }

  hover(event) {
    const rect = this.canvas.getBoundingClientRect();
    const x = event.clientX - rect.left, y = event.clientY - rect.top;
    const hit = this.hits.findLast(([b]) => x >= b.x && x <= b.x + b.w && y >= b.y && y <= b.y + b.h);
    this.tip.hidden = !hit;
    if (!hit) return;
    const said = hit[1]();
    this.tip.textContent = `${seconds(Math.max(0, this.timeAt(x)))}  ${said.length > 240 ? `${said.slice(0, 240)}…` : said}`;
    this.tip.style.left = `${Math.max(4, Math.min(x + 10, this.width - this.tip.offsetWidth - 8))}px`;
    this.tip.style.top = `${Math.max(0, y - 30)}px`;
  }
}

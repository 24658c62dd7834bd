// A session that still runs: its past, then its records as they come.

const ROOM = 60; // seconds in view

class Live {
  constructor(page) {
    this.page = page;
    this.following = true;
    this.at = null; // where the page is put as soon as the records are there
    this.waiting = [];
    this.sessions = new SessionList(byId("sessions"), (one) => this.choose(one));
    byId("sessions-open").addEventListener("click", () => this.sessions.toggle());
    byId("live").addEventListener("click", () => this.follow());
    byId("live").hidden = false;
  }

  connect(key) {
    this.source?.close();
    this.key = key;
    const query = new URLSearchParams(location.search);
    if (key) query.set("session", key);
    this.source = new EventSource(`events?${query}`);
    this.source.onmessage = (event) => this.hear(JSON.parse(event.data));
    this.source.onerror = () => this.say("no connection", "bad");
  }

  // A session of the list: a running one is followed, a finished one opens at its worst moment.
  choose({ key, ended, at }) {
    this.sessions.toggle(false);
    this.at = ended ? at : null;
    this.connect(key);
  }

  hear(message) {
    if (message.sessions) this.list(message.sessions);
    if (message.unread) {
      this.page.unread = message.unread;
      this.page.badges();
    }
    if (message.open) this.open(message.open);
    if (message.rows) this.more(message);
  }

  open(data) {
    this.key = data.key;
    this.page.open(data);
    this.page.timeline.room = ROOM;
    this.page.timeline.lead = 0.7;
    this.page.timeline.view(0, ROOM);
    this.sessions.mark(data.key);
    this.following = true;
    this.ended = false;
    this.heard = null;
    this.say("live", "live");
    cancelAnimationFrame(this.ticking);
    this.tick();
  }

  list(sessions) {
    this.sessions.show(sessions);
    byId("sessions-open").hidden = sessions.length < 2;
    byId("sessions-open").textContent = `${sessions.length} sessions`;
    if (!this.listed && sessions.length > 1 && !new URLSearchParams(location.search).has("session")) this.sessions.toggle(true);
    this.listed = true;
    // when the session that was followed is over, the next one is followed
    const next = sessions.filter((one) => !one.ended).sort((one, other) => other.key - one.key)[0];
    if (this.ended && this.following && next && next.key !== this.key) this.connect(next.key);
  }

  more({ rows, now, ended, how }) {
    this.heard = [performance.now(), now];
    if (ended && !this.ended) this.say(how || "over", / error/.test(how) ? "bad" : "plain");
    if (!ended && this.ended) this.say("live", "live");
    this.ended = ended;
    if (rows.length) {
      this.waiting.push(...rows);
      // what comes quickly is drawn together
      this.drawing ??= setTimeout(() => this.draw(), 60);
    }
  }

  draw() {
    this.drawing = null;
    const { page } = this, i = page.index;
    page.recording.add(this.waiting);
    this.waiting = [];
    page.refresh();
    page.index = null;
    if (this.at !== null && this.at <= page.recording.end) {
      page.seek(this.at);
      this.at = null;
    } else page.show(this.following ? this.now() : page.player.t, undefined, i !== null);
  }

  now() {
    const { recording } = this.page;
    if (!this.heard || this.ended) return recording.end;
    return Math.max(recording.end, this.heard[1] + (performance.now() - this.heard[0]) / 1000);
  }

  // The time goes on while nothing happens, and the timers with it.
  tick() {
    this.ticking = requestAnimationFrame(() => this.tick());
    if (!this.following || !this.page.recording || this.page.player.playing) return;
    const t = this.now();
    if (this.ended && t === this.page.player.t) return;
    this.extend(t);
    this.page.player.t = t;
    this.page.show(t);
  }

  // What is still under way lasts until now.
  extend(t) {
    const { recording, player, timeline } = this.page;
    if (t - recording.end < 0.1) return;
    recording.end = player.end = t;
    byId("slider").max = t;
    timeline.room = t + ROOM;
    const { states, user, agent, tools, pauses } = recording.lanes;
    states[states.length - 1].b = t;
    for (const span of [...user, ...agent, ...tools, ...pauses]) if (span.open) span.b = t;
    timeline.redraw();
  }

  follow() {
    this.following = true;
    this.page.player.pause();
    this.mark();
  }

  // The viewer looks at another moment: the page stays there.
  leave() {
    this.following = false;
    this.mark();
  }

  mark() { byId("live").setAttribute("aria-pressed", String(this.following)); }

  say(words, kind) {
    byId("badges").querySelector(".connection")?.remove();
    byId("badges").prepend(element("span", { class: `badge connection ${kind}` }, words));
    this.mark();
  }
}

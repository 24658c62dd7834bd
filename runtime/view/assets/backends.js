// Where a flow is proved and its triggers are pressed: a server that watches the file, or Python in
// a worker of this page.

class ServerBackend {
  constructor({ flow, trouble }) {
    this.events = new EventSource(`events${location.search}`);
    this.events.onmessage = (event) => {
      const message = JSON.parse(event.data);
      if (message.flow) flow(message.flow);
    };
    this.events.onerror = () => trouble("no connection");
  }

  async simulate(presses) {
    const answer = await fetch(`simulate${location.search}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ presses }) });
    if (!answer.ok) throw new Error(await answer.text());
    return answer.json();
  }
}

const PATIENCE = 10000; // milliseconds for a proof when there is a newer text

class WorkerBackend {
  constructor(script, name, { flow, trouble, busy, ready }) {
    Object.assign(this, { script, name, flow, trouble, busy, ready });
    this.start();
  }

  start() {
    this.asked = new Map();
    this.number = 0;
    this.proving = null;
    try {
      this.worker = new Worker(this.script, { type: "module" });
    } catch {
      return this.lost();
    }
    this.worker.onmessage = ({ data }) => this.hear(data);
    this.worker.onerror = () => this.lost();
  }

  lost() {
    const how = location.protocol === "file:" ? "a browser starts it only from a server: python -m http.server -d build/docs" : "a file of it is missing on this server";
    this.trouble("Python did not start", how);
  }

  hear({ id, answer, trouble, loaded }) {
    if (loaded) return this.ready();
    if (id === undefined) return this.trouble("Python did not start", trouble);
    const { resolve, reject } = this.asked.get(id);
    this.asked.delete(id);
    if (trouble) reject(new Error(trouble));
    else resolve(answer);
  }

  ask(question) {
    return new Promise((resolve, reject) => {
      const id = ++this.number;
      this.asked.set(id, { resolve, reject });
      this.worker?.postMessage({ id, ...question });
    });
  }

  // Prove a text; of those that come meanwhile, the last one is next.
  async edit(text) {
    this.text = text;
    if (this.proving !== null) {
      if (performance.now() - this.proving < PATIENCE) return;
      this.worker?.terminate(); // it would never end: a flow of very many configurations
      this.start();
    }
    const { worker } = this;
    this.proving = performance.now();
    this.busy(true);
    try {
      while (this.text !== null) {
        const next = this.text;
        this.text = null;
        const flow = await this.ask({ name: this.name, text: next });
        if (this.text === null) this.flow(flow, next);
      }
      this.busy(false);
    } catch (error) {
      this.trouble("not proved", error.message);
    } finally {
      if (worker === this.worker) this.proving = null;
    }
  }

  simulate(presses) {
    return this.ask({ presses });
  }
}

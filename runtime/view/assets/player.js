// The clock of the page: the recording's own while it sounds, else one that runs at the same pace.

class Player {
  constructor(onTime, onState) {
    this.onTime = onTime;
    this.onState = onState;
    this.t = 0;
    this.end = 1;
    this.speed = 1;
    this.playing = false;
    this.audio = null;
    this.offset = 0;
  }

  load(base64, type, offset) {
    const bytes = bytesOf(base64);
    this.audio = new Audio(URL.createObjectURL(new Blob([bytes], { type })));
    this.audio.preload = "auto";
    this.audio.preservesPitch = true;
    this.offset = offset;
    this.ready = new Promise((resolve) => this.audio.addEventListener("loadedmetadata", resolve, { once: true }));
  }

  sounds() {
    const { audio } = this;
    return Boolean(audio) && this.t >= this.offset && this.t < this.offset + (audio.duration || 0);
  }

  seek(t) {
    this.t = Math.max(0, Math.min(this.end, t));
    if (this.audio) {
      this.audio.currentTime = Math.max(0, this.t - this.offset);
      if (this.playing) this.sound();
    }
    this.began = [performance.now(), this.t];
  }

  sound() {
    if (this.sounds()) {
      if (this.audio.paused) this.audio.play().catch(() => {});
    } else if (!this.audio.paused) this.audio.pause();
  }

  setSpeed(speed) {
    this.speed = speed;
    if (this.audio) this.audio.playbackRate = speed;
    this.began = [performance.now(), this.t];
  }

  async toggle() {
    if (this.playing) return this.pause();
    if (this.t >= this.end - 0.01) this.seek(0);
    this.playing = true;
    this.onState();
    if (this.audio) {
      await this.ready;
      this.audio.currentTime = Math.max(0, this.t - this.offset);
      if (this.playing) this.sound();
    }
    this.began = [performance.now(), this.t];
    requestAnimationFrame(() => this.frame());
  }

  pause() {
    this.playing = false;
    this.audio?.pause();
    this.onState();
  }

  frame() {
    if (!this.playing) return;
    const { audio } = this, now = performance.now();
    const sounding = this.sounds() && !audio.paused && !audio.ended;
    if (sounding) {
      this.t = audio.currentTime + this.offset;
      this.began = [now, this.t];
    } else {
      this.t = this.began[1] + ((now - this.began[0]) / 1000) * this.speed;
      if (audio && this.sounds() && audio.paused && !audio.ended) {
        audio.currentTime = this.t - this.offset;
        this.sound();
      }
    }
    if (this.t >= this.end) {
      this.t = this.end;
      this.pause();
    }
    this.onTime(this.t);
    if (this.playing) requestAnimationFrame(() => this.frame());
  }
}

function bytesOf(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

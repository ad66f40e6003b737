// @ts-check
/**
 * Python in a worker, which the page starts from the text of this file. First it gets all files, as gzipped base64;
 * then requests { id, request }, each answered by { id, answer } or { id, failed }. Nothing is fetched from anywhere.
 */
(() => {
  const scope = /** @type {any} */ (self);
  const NOWHERE = "https://flatcube.invalid/"; // names of files only: nothing is ever asked for there
  const MEMORY = 2 ** 30; // bytes that Python may have; `sheet.py` says so to whom it refuses more
  /** @type {(request: string) => string} */
  let answer;

  /** @type {(text: string) => Promise<ArrayBuffer>} */
  async function unpacked(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  }

  /** @type {(files: Record<string, string>) => Promise<void>} */
  async function start(files) {
    /** @type {Map<string, ArrayBuffer>} */
    const held = new Map();
    for (const [name, text] of Object.entries(files)) held.set(name, await unpacked(text));
    scope.fetch = async (/** @type {any} */ asked) => {
      const name = String(asked.url ?? asked)
        .split("/")
        .pop();
      const kind = name?.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
      return new Response(held.get(String(name)), { headers: { "Content-Type": kind } });
    };
    for (const name of ["pyodide.asm.js", "pyodide.js"]) {
      const address = URL.createObjectURL(new Blob([/** @type {ArrayBuffer} */ (held.get(name))]));
      scope.importScripts(address);
      URL.revokeObjectURL(address);
    }
    bound();
    const python = await scope.loadPyodide({ indexURL: NOWHERE });
    // numpy asks for this name when it reuses memory; the interpreter has none, and nothing needs its answer.
    python._module.mergeLibSymbols({ backtrace: () => 0 });
    for (const name of ["numpy.zip", "library.zip"])
      python.unpackArchive(held.get(name), "zip", {
        extractDir: python.runPython("import site; site.getsitepackages()[0]"),
      });
    answer = python.runPython(
      "import importlib; importlib.invalidate_caches()\nfrom flatcube.classroom.sheet import _serve\n_serve()",
    );
    close();
  }

  /** A program that asks for ever more memory gets an error from Python, before the whole page is ended for it. */
  function bound() {
    const memory = WebAssembly.Memory.prototype;
    const { grow } = memory;
    memory.grow = function (pages) {
      if (this.buffer.byteLength + pages * 65536 > MEMORY) throw new RangeError("no more memory");
      return grow.call(this, pages);
    };
  }

  /** From now on nothing here reaches out, whatever the reader's code tries; the page's policy forbids it, too. */
  function close() {
    const refuse = () => {
      throw new Error("code in the page may not use the network");
    };
    for (const name of ["fetch", "XMLHttpRequest", "WebSocket", "EventSource", "importScripts", "WebTransport"])
      scope[name] = refuse;
  }

  scope.onmessage = async (/** @type {MessageEvent} */ { data }) => {
    try {
      if (data.files) {
        await start(data.files);
        scope.postMessage({ ready: true });
      } else scope.postMessage({ id: data.id, answer: answer(data.request) });
    } catch (error) {
      scope.postMessage({ id: data.id, failed: String(/** @type {Error} */ (error).message ?? error) });
    }
  };
})();

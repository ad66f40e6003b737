// The editor of the page, bundled into one classic script: window.flatcube.edit(parent, text, label, changed) gives
// { text(), set(text), focus() }.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from "@codemirror/language";
import { closeBrackets } from "@codemirror/autocomplete";
import { EditorView, highlightActiveLine, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";

// The page's own colours, so that light and dark follow its theme.
const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.controlKeyword], color: "var(--fc-code-keyword, var(--fc-accent))" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--fc-code-string, var(--fc-good))" },
  { tag: [tags.comment], color: "var(--fc-muted)", fontStyle: "italic" },
  { tag: [tags.number, tags.bool, tags.null], color: "var(--fc-code-number, var(--fc-ink))" },
]);

const look = EditorView.theme({
  "&": { color: "var(--fc-ink)", backgroundColor: "transparent", fontSize: "inherit" },
  ".cm-content": { caretColor: "var(--fc-ink)", fontFamily: "var(--fc-mono)", padding: "0.5rem 0" },
  ".cm-gutters": { backgroundColor: "transparent", color: "var(--fc-muted)", border: "none" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  ".cm-cursor": { borderLeftColor: "var(--fc-ink)" },
  "&.cm-focused": { outline: "none" },
});

// Escape, then Tab leaves the editor: otherwise a keyboard would be caught in it.
let leaving = false;
const escape = EditorView.domEventHandlers({
  keydown(/** @type {KeyboardEvent} */ event) {
    if (event.key === "Escape") leaving = true;
    else if (event.key !== "Tab" && event.key !== "Shift") leaving = false;
    if (event.key === "Tab" && leaving) {
      leaving = false;
      return true;
    }
    return false;
  },
});

/** @type {(parent: HTMLElement, text: string, label: string, changed: () => void) => any} */
const edit = (parent, text, label, changed) => {
  const view = new EditorView({
    parent,
    doc: text,
    extensions: [
      escape,
      lineNumbers(),
      history(),
      python(),
      indentUnit.of("    "),
      indentOnInput(),
      bracketMatching(),
      closeBrackets(),
      highlightActiveLine(),
      syntaxHighlighting(colours),
      look,
      EditorView.lineWrapping,
      EditorView.contentAttributes.of({ "aria-label": label }),
      EditorView.updateListener.of((/** @type {any} */ update) => update.docChanged && changed()),
      keymap.of([indentWithTab, ...defaultKeymap, ...historyKeymap]),
    ],
  });
  return {
    text: () => view.state.doc.toString(),
    set: (/** @type {string} */ other) =>
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: other } }),
    focus: () => view.focus(),
  };
};

/** @type {any} */ (globalThis).flatcube.edit = edit;

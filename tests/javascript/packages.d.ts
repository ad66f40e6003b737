// Packages that the editor is made of: they are there when it is bundled, not when our own scripts are checked.
declare module "@codemirror/*";
declare module "@lezer/highlight";

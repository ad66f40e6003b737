// @ts-check
/**
 * Sets formulas, for the press: `node maths.js FOLDER FONTS`, with the folder of MathJax's package and the address of
 * its fonts, reads a list of [TeX, whether it stands by itself] and writes the HTML of each, with MathML for readers
 * who listen, and the style sheet that all of them share.
 */
(async () => {
  const { process } = /** @type {any} */ (globalThis);
  const [folder, fontURL] = process.argv.slice(2);
  const [{ createRequire }, files] = ["module", "fs"].map((name) => process.getBuiltinModule(name));
  const require = createRequire(`${folder}/`);
  const MathJax = await require("./es5/node-main.js").init({
    // without the packages that excuse unknown commands: one of those is an error
    loader: {
      load: ["input/tex-base", "[tex]/ams", "[tex]/newcommand", "output/chtml", "a11y/assistive-mml"],
      require,
    },
    tex: { packages: ["base", "ams", "newcommand"] },
    chtml: { fontURL, matchFontHeight: false },
    startup: { typeset: false },
  });
  const { adaptor } = MathJax.startup;
  const formulas = JSON.parse(files.readFileSync(0, "utf8"));
  const html = formulas.map((/** @type {[string, boolean]} */ [tex, display]) =>
    adaptor.outerHTML(MathJax.tex2chtml(tex, { display })),
  );
  process.stdout.write(JSON.stringify({ html, css: adaptor.textContent(MathJax.chtmlStylesheet()) }));
})();

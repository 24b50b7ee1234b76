// One classic script and one style sheet: on file:// Chromium blocks module scripts.
import { defineConfig } from "vite";
import { withLicences } from "./licences.js";

// Plot puts a <style> element into every chart, which the pages' Content-Security-Policy forbids; its few
// rules stand in src/style/chart.css.
const STYLE = /svg\.append\("style"\)\.text\(\s*`[^`]*`\s*\)/;
const withoutStyleElements = {
  name: "plot-without-style-elements",
  transform(code, id) {
    if (!/plot\/src\/(plot|legends\/ramp)\.js$/.test(id)) return null;
    if (!STYLE.test(code)) throw new Error(`${id} adds its style element in a new way: adapt this code`);
    return { code: code.replace(STYLE, "svg"), map: null };
  },
};

export default defineConfig({
  plugins: [withoutStyleElements, withLicences],
  build: {
    target: "es2022",
    sourcemap: false,
    reportCompressedSize: true,
    lib: {
      entry: "src/main.ts",
      formats: ["iife"],
      name: "plumb",
      fileName: () => "plumb.js",
      cssFileName: "plumb",
    },
  },
});

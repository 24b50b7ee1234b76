// What a page of plumb's report can do with JavaScript. Without it, all tables are there.
//
// The script is a classic one, so that it runs from disk; `plumb.charts` and `plumb.search` are called by the
// files under data/, which are added when they are needed.
import "./style/base.css";
import "./style/layout.css";
import "./style/table.css";
import "./style/chart.css";
import "./style/print.css";
import { startFigures, takeCharts } from "./page";
import { helpButton, startKeys } from "./keys";
import { searchBox, takeIndex } from "./search";
import { startLive } from "./live";
import { startTables } from "./tables";
import { startTheme, themeButton } from "./theme";

export { takeCharts as charts, takeIndex as search };

function start(): void {
  const tools = document.querySelector<HTMLElement>("header .tools");
  if (tools) {
    tools.append(searchBox(), themeButton(), helpButton());
    tools.hidden = false;
  }
  startKeys();
  startTables();
  startFigures();
  startLive();
}

startTheme();
document.documentElement.classList.add("enhanced");
if (document.readyState === "loading") addEventListener("DOMContentLoaded", start);
else start();

"use strict";
// The slider shows one of the choices, which are all in the page.
const slider = document.getElementById("slider");
slider?.addEventListener("input", () => {
  for (const part of document.querySelectorAll("[data-choice]")) {
    part.hidden = part.dataset.choice !== slider.value;
  }
});

// How a picture looks, coarsely: how dark each of 32 × 16 parts is. Two pictures are alike when these
// correlate; fonts and a pixel here or there do not matter, a missing mark or a blank chart does.
const [WIDE, HIGH] = [32, 16];

/** How dark each part of a PNG is, from 0 to 255. */
export function darkness(page, png) {
  return page.evaluate(
    async ([source, wide, high]) => {
      const image = new Image();
      image.src = source;
      await image.decode();
      const canvas = new OffscreenCanvas(wide, high);
      const pen = canvas.getContext("2d", { willReadFrequently: true });
      pen.imageSmoothingQuality = "high";
      pen.drawImage(image, 0, 0, wide, high);
      const { data } = pen.getImageData(0, 0, wide, high);
      return Array.from({ length: wide * high }, (_, index) => Math.round(255 - (data[index * 4] + data[index * 4 + 1] + data[index * 4 + 2]) / 3));
    },
    [`data:image/png;base64,${png.toString("base64")}`, WIDE, HIGH],
  );
}

/** Pearson's correlation: 1 for pictures that are alike, about 0 for those that have nothing to do with each other. */
export function alike(one, other) {
  const mean = (values) => values.reduce((a, b) => a + b, 0) / values.length;
  const [a, b] = [one, other].map((values) => values.map((value) => value - mean(values)));
  const product = (x, y) => x.reduce((sum, value, index) => sum + value * y[index], 0);
  const norm = Math.sqrt(product(a, a) * product(b, b));
  return norm > 0 ? product(a, b) / norm : 0;
}

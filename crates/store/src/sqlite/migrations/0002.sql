-- What a look at a comparison saw: `pairs` is null where nothing was compared, else the interval is of a
-- ratio of costs.

ALTER TABLE decision ADD COLUMN pairs INTEGER;
ALTER TABLE decision ADD COLUMN verdict TEXT;
ALTER TABLE decision ADD COLUMN pairs_needed INTEGER;

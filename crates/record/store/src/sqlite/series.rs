//! The names of series.

use plumb_model::SeriesName;
use rusqlite::Connection;

use super::read::all;
use crate::sqlite::db_error::DbError;

/// All series by name.
pub(super) fn names(db: &Connection) -> Result<Vec<SeriesName>, DbError> {
    let sql = "WITH first AS MATERIALIZED ( \
           SELECT DISTINCT json ->> '$.id' AS workload, json ->> '$.metrics[0].name' AS metric \
           FROM description), \
         titled AS MATERIALIZED ( \
           SELECT point.value ->> '$.point.workload' AS workload, \
             point.value ->> '$.point.key' AS point, max(point.value ->> '$.title') AS title \
           FROM plan, json_each(plan.json, '$.points') AS point \
           WHERE point.value -> '$.preparation' IS NULL GROUP BY 1, 2) \
         SELECT DISTINCT series.name, series.workload, series.point, \
           (series.workload, series.metric) IN first, titled.title \
         FROM series LEFT JOIN titled USING (workload, point) \
         WHERE series.kind = 'value' ORDER BY 1";
    all(db, sql, &[], |row| {
        Ok(SeriesName {
            name: row.get(0)?,
            workload: row.get(1)?,
            point: row.get(2)?,
            primary: row.get(3)?,
            title: row.get(4)?,
        })
    })
}

/// The names of all series, without those of points.
pub(super) fn names_alone(db: &Connection) -> Result<Vec<String>, DbError> {
    let sql = "SELECT DISTINCT name FROM series WHERE kind = 'value' ORDER BY 1";
    all(db, sql, &[], |row| Ok(row.get(0)?))
}

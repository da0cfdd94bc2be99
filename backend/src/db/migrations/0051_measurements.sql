-- How much of servers is in use over time. No reference to servers: the values of a removed server stay until they are old.
create table measurement_minute (
  object_id uuid not null,
  at timestamptz(0) not null,
  -- In the order of `serverSeries` (contract/measurements); null where nothing could be measured.
  figures real[] not null,
  primary key (object_id, at)
);
-- For the removal of whole days.
create index measurement_minute_at on measurement_minute using brin (at);
-- The means and maxima of 15 minutes of one day (UTC), packed (domains/measurements/packing.ts).
create table measurement_day (
  object_id uuid not null,
  day date not null,
  packed bytea not null,
  primary key (object_id, day)
);
create index measurement_day_day on measurement_day (day);

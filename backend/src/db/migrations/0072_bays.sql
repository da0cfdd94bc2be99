-- Bays: servers of one chassis share its units. They have rack, unit, height and face in common, and each has a bay of its own.
alter table server
  add column rack_bay text check (char_length(rack_bay) between 1 and 16),
  add constraint server_bay check (rack_bay is null or rack_id is not null),
  drop constraint server_place,
  -- Two servers may share a unit only if the last value is the same for both: that of a server without a bay is its own id. Not deferrable: an insert of servers that leaves out those that are there (`on conflict do nothing`) needs that.
  add constraint server_place exclude using gist (
    rack_id with =,
    int4range(rack_unit, rack_unit + rack_height) with &&,
    (case rack_face when 'front' then int4range(0, 1) when 'rear' then int4range(1, 2) else int4range(0, 2) end) with &&,
    (case when rack_bay is null then id::text else rack_unit::text || ' ' || rack_height::text || ' ' || rack_face end) with <>
  ) where (rack_id is not null);
-- Bays that differ only in their case are one, as names of racks are.
create unique index server_place_bay on server (rack_id, rack_unit, rack_height, rack_face, lower(rack_bay)) where rack_bay is not null;

-- Racks, and where servers stand in them. A place that is taken, outside of the rack or in another datacenter is refused here, whatever the code above believes.
create table rack (
  id uuid primary key default gen_random_uuid(),
  -- A datacenter is removed only without servers, so its racks are empty then.
  datacenter_id uuid not null references datacenter on delete cascade,
  name text not null check (name <> ''),
  units integer not null check (units between 1 and 60),
  version bigint not null default 1,
  created_at timestamptz(3) not null,
  updated_at timestamptz(3) not null,
  unique (id, datacenter_id),
  unique (id, units)
);
-- People who write a name don't think of its case.
create unique index rack_name on rack (datacenter_id, lower(name));

alter table server
  add column rack_id uuid,
  -- The lowest unit, counted from below.
  add column rack_unit integer check (rack_unit >= 1),
  add column rack_height integer check (rack_height >= 1),
  add column rack_face text check (rack_face in ('both', 'front', 'rear')),
  -- The height of the rack, which a change of the rack carries here.
  add column rack_units integer,
  add constraint server_placed check (
    num_nonnulls(rack_id, rack_unit, rack_height, rack_face, rack_units) in (0, 5)
    and (rack_id is null or (datacenter_id is not null and status <> 'deleted'))
  ),
  add constraint server_rack_datacenter foreign key (rack_id, datacenter_id) references rack (id, datacenter_id),
  add constraint server_rack_units foreign key (rack_id, rack_units) references rack (id, units) on update cascade,
  add constraint server_within_rack check (rack_unit + rack_height - 1 <= rack_units),
  -- Not deferrable: an insert of servers that leaves out those that are there (`on conflict do nothing`) needs that.
  add constraint server_place exclude using gist (
    rack_id with =,
    int4range(rack_unit, rack_unit + rack_height) with &&,
    (case rack_face when 'front' then int4range(0, 1) when 'rear' then int4range(1, 2) else int4range(0, 2) end) with &&
  ) where (rack_id is not null);

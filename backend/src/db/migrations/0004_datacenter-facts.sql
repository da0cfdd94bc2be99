-- What a provider notes of a site beside its place.

alter table datacenter
  add column facility text,
  add column address text,
  add column power_capacity_kw double precision check (power_capacity_kw >= 0),
  add column rack_capacity integer check (rack_capacity >= 0),
  add column notes text;

-- A cluster that was deleted is kept for its history, but doesn't keep the datacenter.
alter table cluster
  alter column datacenter_id drop not null,
  add constraint cluster_datacenter check (deleted_at is not null or datacenter_id is not null);

-- The draft that an act on many servers commits, as it was planned; null: the commitment is new.
alter table server_bulk_item add column commitment_version bigint;

-- The row of a removed snapshot is kept for a time, but doesn't keep its store. Any other snapshot still prevents the removal of its store.
alter table snapshot alter column store_id drop not null;
alter table snapshot add constraint snapshot_in_store check (status = 'removed' or store_id is not null);
alter table snapshot drop constraint snapshot_store_id_fkey;
alter table snapshot add constraint snapshot_store_id_fkey foreign key (store_id) references store on delete set null;

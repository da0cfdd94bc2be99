-- What the snapshot was taken for, such as "Before the upgrade to Talos v1.13.9". Null: nothing in particular.
alter table snapshot add column purpose text;

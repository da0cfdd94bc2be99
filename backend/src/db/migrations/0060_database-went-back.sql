-- What a database lacks that went back in time by itself, such as "events 10412 to 10475". Null: restored from a backup.
alter table restoration add column missing text;

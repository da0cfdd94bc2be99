-- The upgrade of a cluster that stopped half way: what is wanted, beside the versions that it has. Only findings write it.
alter table cluster add column upgrade jsonb;

-- The finding that a server or a cluster shows in lists and headers: the worst open one about it. Only findings write it.
alter table server
  add column finding jsonb,
  -- The cluster whose configuration the machine may still run, because the cluster let it go without a reset.
  add column left_cluster text;
create index server_finding on server (id) where finding is not null;
alter table cluster add column finding jsonb;
-- Whether a cluster is degraded follows from its finding. The watch over it only notes the problem.
update cluster set status = 'ready' where status = 'degraded';

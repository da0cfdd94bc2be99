-- While the endpoint of the Kubernetes API changes, the certificates name both endpoints, and each server uses one of them.
alter table cluster
  add column other_endpoint text,
  add column other_virtual_ip boolean not null default false;
-- The endpoint that the server's configuration names; null: the cluster's.
alter table cluster_server
  add column endpoint text;

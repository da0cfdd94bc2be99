-- At the end of a change of the endpoint the control planes forget the former one, one after another.

-- Whether the server's configuration no longer has the cluster's other endpoint, which stays reserved until all have forgotten it.
alter table cluster_server add column forgets_other_endpoint boolean not null default false;

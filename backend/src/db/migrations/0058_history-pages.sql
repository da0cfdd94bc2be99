-- What one object or cluster went through of one kind, such as its failures, without reading all else that happened to it.
create index history_object_kind on history (object_id, kind, at desc, id desc);
create index history_cluster_kind on history (cluster_id, kind, at desc, id desc) where cluster_id is not null;
-- Most entries are about servers.
create index history_others on history (object_kind, at desc, id desc) where object_kind <> 'server';

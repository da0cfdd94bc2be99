-- The set of files of `steelyard apply` that alone changes the cluster, who said so, and when.
alter table cluster add column files_set text, add column files_by text, add column files_at timestamptz;

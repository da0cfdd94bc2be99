-- Old operations are removed (domains/operations/README.md): what refers to them is found by an index.
create index server_operation on server (operation_id) where operation_id is not null;
create index cluster_server_operation on cluster_server (operation_id) where operation_id is not null;
create index server_bulk_item_begun on server_bulk_item (begun_id) where begun_id is not null;
create index shared_roll_out_server_change on shared_roll_out_server (change_id) where change_id is not null;

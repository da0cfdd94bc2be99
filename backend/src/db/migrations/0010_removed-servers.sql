-- A machine that registers is looked for among those that were removed: five hundred that boot at once are not to read the whole history five hundred times.
create index server_removed on server (uuid) where status = 'deleted';

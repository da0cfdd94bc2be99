-- Boards may share a UUID, and a serial number too if the maker left a default in it. `identity_mac`
-- is then the MAC address that tells the machine apart; null if UUID and serial number do.
alter table server add column identity_mac text;
drop index server_uuid;
create unique index server_uuid on server (uuid, coalesce(serial, ''), coalesce(identity_mac, ''))
  where status <> 'deleted' and uuid is not null;

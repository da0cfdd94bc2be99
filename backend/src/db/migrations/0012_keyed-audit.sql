-- The chain of the audit log is keyed from here on. The sealed text holds the chain's key and the last entry, with its hash, that was
-- written before there was a key; null until the next entry is chained.
alter table publication add column chain_sealed bytea;

-- The trace of the request that asked for the operation (W3C Trace Context), which its runs
-- continue. Null if traces were off.
alter table operation add column traceparent text;

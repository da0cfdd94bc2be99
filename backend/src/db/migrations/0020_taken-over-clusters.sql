-- Clusters that others made, and authorities that others changed.

alter table cluster
  -- Why its machines refuse Steelyard: `talos_ca` after a rotation of the authority by others. Null where they don't.
  add column locked_out text check (locked_out in ('talos_ca', 'kubernetes_ca')),
  add column locked_out_since timestamptz(3),
  -- When it was taken over; null where Steelyard made it.
  add column taken_over_at timestamptz(3);

-- Facts about this installation as a whole.
create table instance (
  name text primary key,
  value text not null
);

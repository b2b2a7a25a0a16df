-- On the primary server, once: psql --host 127.0.0.1 --username postgres --file database.sql
CREATE ROLE docyard LOGIN PASSWORD 'CHANGE-4';
CREATE DATABASE docyard OWNER docyard;
-- Nodes see if a replica has applied everything, and else read from the primary server.
GRANT pg_read_all_stats TO docyard;

"""What constraints cannot say in one row: whole blocks, true targets, ratings that only grow."""

from django.db import migrations

FORWARD = """
ALTER TABLE listening_slot ADD CONSTRAINT slot_target_is_its_tasks
    FOREIGN KEY (task_id, target) REFERENCES listening_task (id, ratings_per_stimulus);

CREATE FUNCTION listening_block_is_whole(block bigint) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT NOT EXISTS (
        SELECT 1 FROM listening_slot s WHERE s.block_id = block
        AND (SELECT count(*) FROM listening_rating r WHERE r.slot_id = s.id AND r.counts)
            < (1 + cardinality(s.others))
              * (SELECT count(*) FROM listening_criterion c WHERE c.task_id = s.task_id))
$$;

CREATE FUNCTION listening_check_block() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.state = 2 AND NOT listening_block_is_whole(NEW.id)
       AND EXISTS (SELECT 1 FROM listening_block WHERE id = NEW.id AND state = 2) THEN
        RAISE EXCEPTION 'block % is done but lacks ratings', NEW.id
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_done_block_is_whole';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER a_done_block_is_whole AFTER INSERT OR UPDATE OF state ON listening_block
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.state = 2)
    EXECUTE FUNCTION listening_check_block();

CREATE FUNCTION listening_check_rating_left() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE gap bigint;
BEGIN
    SELECT b.id INTO gap FROM listening_slot s JOIN listening_block b ON b.id = s.block_id
        WHERE s.id = OLD.slot_id AND b.state = 2 AND NOT listening_block_is_whole(b.id);
    IF gap IS NOT NULL THEN
        RAISE EXCEPTION 'block % is done but loses a rating', gap
            USING ERRCODE = 'check_violation', CONSTRAINT = 'a_done_block_is_whole';
    END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER a_done_block_keeps_its_ratings AFTER UPDATE OR DELETE ON listening_rating
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (OLD.counts)
    EXECUTE FUNCTION listening_check_rating_left();

CREATE FUNCTION listening_guard_rating() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF coalesce(current_setting('earnest.deleting', true), '') <> 'on' THEN
            RAISE EXCEPTION 'ratings are only added: delete them by a withdrawal'
                USING ERRCODE = 'restrict_violation', CONSTRAINT = 'ratings_are_only_added';
        END IF;
        RETURN OLD;
    END IF;
    IF (NEW.id, NEW.trial_id, NEW.slot_id, NEW.criterion_id, NEW.stimulus_id, NEW.label, NEW.score,
        NEW.rated_at) IS DISTINCT FROM (OLD.id, OLD.trial_id, OLD.slot_id, OLD.criterion_id,
        OLD.stimulus_id, OLD.label, OLD.score, OLD.rated_at) THEN
        RAISE EXCEPTION 'a rating is never changed; only whether it counts'
            USING ERRCODE = 'restrict_violation', CONSTRAINT = 'ratings_are_only_added';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER ratings_are_only_added BEFORE UPDATE OR DELETE ON listening_rating
    FOR EACH ROW EXECUTE FUNCTION listening_guard_rating();
"""

BACKWARD = """
DROP TRIGGER ratings_are_only_added ON listening_rating;
DROP FUNCTION listening_guard_rating();
DROP TRIGGER a_done_block_keeps_its_ratings ON listening_rating;
DROP FUNCTION listening_check_rating_left();
DROP TRIGGER a_done_block_is_whole ON listening_block;
DROP FUNCTION listening_check_block();
DROP FUNCTION listening_block_is_whole(bigint);
ALTER TABLE listening_slot DROP CONSTRAINT slot_target_is_its_tasks;
"""


class Migration(migrations.Migration):
    dependencies = [("listening", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]

"""What granian serves below a supervisor: pages that answer when their start is prepared."""

from config.run.preparation import result_file, wait_for
from config.web import application

__all__ = ["application"]
wait_for(result_file())

"""The caps of all that is read from outside: one place, each checked before anything is parsed.

Small inputs are read where they arrive: below these caps their worst case is short. What is larger
is read in a process of its own (`listening.common.reading_process`), which bounds its processor
time.
"""

KB, MB, GB = 1024, 1024**2, 1024**3

# --- Names ----------------------------------------------------------------------------------------

LONGEST_PATTERN = 300  # characters of a pattern of file names
MOST_PLACES = 16  # of system, sentence and {*} in it

# --- Archives -------------------------------------------------------------------------------------

ARCHIVE_ENTRIES = 250_000  # from the command line
ARCHIVE_BYTES = 50 * GB  # unpacked
ARCHIVE_ENTRY_BYTES = 500 * MB
ARCHIVE_RATIO = 100  # sound hardly compresses
ARCHIVE_RATIO_FROM_BYTES = 20 * MB
ARCHIVE_DEPTH = 12  # folders
SHARD_TEXT_BYTES = 1 * MB  # of a text beside a clip in a .tar, and of a member's header
LISTED_BYTES = 300  # that an entry takes in the table of contents, at most on average
WEB_FILES = 20_000  # in an upload, and in a draft
WEB_SOUND_BYTES = 500 * MB
WEB_ARCHIVE_BYTES = 20 * GB
APART_FROM_FILES = 500  # an archive of more is unpacked by a process of its own
APART_FROM_ARCHIVE_BYTES = 4 * MB

# --- Tables ---------------------------------------------------------------------------------------

TABLE_BYTES = 300 * MB  # also of what a .gz holds
TABLE_ROWS = 200_000  # of stimuli.csv
TABLE_COLUMNS = 200  # of stimuli.csv
FOREIGN_COLUMNS = 10_000  # of tables of other programs
CELL_CHARACTERS = 131_072  # Python's own limit; mostly a quote that is never closed
DRAFT_ROWS = 20_000  # of stimuli.csv, where each page of a draft reads it
APART_FROM_TABLE_BYTES = 512 * KB
PYTHON_LINE_CHARACTERS = 100_000  # of a dictionary as Python prints it

# --- TOML, YAML, JSON -----------------------------------------------------------------------------

TOML_BYTES = 1 * MB
TOML_VALUES = 50_000
TOML_DEPTH = 16  # parts of a dotted key, tables in tables
YAML_CHARACTERS = 512 * KB
YAML_VALUES = 20_000  # with each alias counted as what it stands for
YAML_DEPTH = 40
JSON_DEPTH = 100
JSON_BRACKETS = 1_000_000  # lists and objects in one text
RATER_JSON_BYTES = 512 * KB
PAGE_JSON_BYTES = 4 * MB  # of researchers' pages
CREDENTIAL_CHARACTERS = 20_000  # of a security key; one with certificates takes 5,000

# --- Audio ----------------------------------------------------------------------------------------

CLIP_BYTES = 500 * MB
CLIP_DURATION_S = 30 * 60
APART_FROM_SAMPLES = 4_000_000  # of all channels: some 0.2 s of processor time
APART_SOUND_CPU_S = 120  # 30 minutes of stereo at 192 kHz take 25
MP3_FRAMES = 2_000_000  # four hours of the shortest frames have 1,800,000
MP3_PARTS = 1_000  # streams in one file, and stretches between damage
MP3_MISSES = 20_000  # positions that look like a frame and are none

# --- Processes of their own -----------------------------------------------------------------------

APART_CPU_S = 30  # of processor time, then the process is ended
APART_BYTES_PER_S = 40 * MB  # an archive gets so much longer
APART_WAIT_S = 3_600  # until it has got that time; the web process allows less
APART_MEMORY_BYTES = 4 * GB

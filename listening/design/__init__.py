"""Design of studies: folders, blocks, traps; pure rules without Django."""

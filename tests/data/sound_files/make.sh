#!/bin/sh
# Makes these files anew: sox, lame, oggenc (vorbis-tools), opusenc (opus-tools), flac and ffmpeg.
set -e
q() { ffmpeg -hide_banner -loglevel error -y "$@"; }
sox -R -n -r 8000 -c 1 -b 16 half.wav synth 0.5 pinknoise vol 0.3
sox -R -n -r 16000 -c 1 -b 16 quiet.wav synth 0.5 sine 300 vol 0.01
sox -R -n -r 16000 -c 1 -b 16 loud.wav synth 0.5 pinknoise vol 0.5
sox quiet.wav loud.wav one.wav # 1 s: little to code, then much
q -i half.wav -f wav - > pipe_ffmpeg.wav
q -i half.wav -f w64 - > pipe_ffmpeg.w64
q -i half.wav -c:a pcm_f32le -f w64 float_ffmpeg.w64
q -i half.wav -c:a pcm_f32le -f w64 - > pipe_float_ffmpeg.w64
sox half.wav -t aiff - | cat > pipe_sox.aiff
q -i half.wav -f au - > pipe_ffmpeg.au
q -i half.wav -f aiff - > pipe_ffmpeg.aiff
q -i half.wav -f caf - > pipe_ffmpeg.caf
q -i half.wav -c:a alac -f caf alac.caf
sox half.wav sphere.sph
cat half.wav half.wav > joined.wav
sox half.wav -t raw - | flac -s -f -c --blocksize=576 --endian=little --sign=signed --channels=1 --bps=16 --sample-rate=8000 --force-raw-format - > pipe.flac
flac -s -f --blocksize=576 -o whole.flac half.wav
cat whole.flac whole.flac > joined.flac
flac -s -f --ogg -o flac.oga half.wav
lame --quiet -V9 -t one.wav vbr_without_xing.mp3
lame --quiet -V9 --add-id3v2 --tt one one.wav tagged.mp3
cat tagged.mp3 tagged.mp3 > joined.mp3
lame --quiet --freeformat -b 40 -t one.wav free_rate.mp3
oggenc -Q -q0 -s 1 -o first.ogg one.wav
oggenc -Q -q0 -s 2 -o second.ogg one.wav
cat first.ogg second.ogg > chained.ogg
opusenc --quiet --bitrate 16 --serial 1 one.wav first.opus
opusenc --quiet --bitrate 16 --serial 2 one.wav second.opus
cat first.opus second.opus > chained.opus
q -i one.wav -c:a aac -b:a 24k whole.m4a
q -ss 0.3 -i whole.m4a -t 0.5 -c copy edited.m4a # an edit list that begins and ends within a frame
q -i one.wav -c:a aac -b:a 24k -movflags frag_keyframe+empty_moov -frag_duration 200000 -f mp4 - > fragments.mp4
q -i one.wav -c:a libopus -b:a 16k -f webm - > pipe.webm
rm half.wav quiet.wav loud.wav one.wav whole.flac tagged.mp3 first.* second.* whole.m4a

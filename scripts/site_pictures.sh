#!/usr/bin/env bash
# Pictures of the documentation's site in Chromium: wide and narrow, light and dark.
# PYTHON has Pillow, which cuts the narrow ones out and makes all of them small.
# usage: scripts/site_pictures.sh SITE OUT [PAGE...]     SITE: what `mkdocs build -d SITE` made; PAGE: such as simulator or zh/simulator
set -euo pipefail

[ $# -ge 2 ] || { sed -n '2,4s/^# //p' "$0" >&2; exit 2; }
site=$(realpath "$1") out=$2
shift 2
pages=("$@")
[ $# -gt 0 ] || pages=(. simulator zh/observing reference)
browser=$(command -v chromium || command -v google-chrome) || { echo "needs chromium on PATH" >&2; exit 1; }
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
port=$((20000 + RANDOM % 20000))
python3 -m http.server -d "$site" --bind 127.0.0.1 "$port" 2>"$work/server" >&2 &
server=$!
trap 'kill "$server"; rm -rf "$work"' EXIT
served() { (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; }
for _ in {1..50}; do
    served && break
    sleep 0.2
done
served || { cat "$work/server" >&2; exit 1; }
# Chromium's window is never narrower than 500 pixels, so a narrow page is shown in a frame.
cat >"$site/.frame.html" <<'HTML'
<body style="margin:0"><iframe style="border:0;width:390px;height:844px"></iframe>
<script>document.querySelector("iframe").src = "http://" + location.host + "/" + location.hash.slice(1)</script></body>
HTML
for page in "${pages[@]}"; do
    for scheme in light dark; do
        for width in 1300 390; do
            address="http://127.0.0.1:$port/$page/" size=1300,900
            [ "$width" = 1300 ] || address="http://127.0.0.1:$port/.frame.html#$page/" size=500,844
            dark=()
            [ "$scheme" = light ] || dark=(--blink-settings=preferredColorScheme=0)
            [ "$page" != . ] || address=${address//.\//}
            picture="$out/$(sed 's|^\.$|index|; s|/|-|g' <<<"$page")-$width-$scheme.png"
            "$browser" --headless --no-sandbox --hide-scrollbars --user-data-dir="$work/$scheme" --window-size="$size" \
                --virtual-time-budget=8000 "${dark[@]}" --screenshot="$picture" "$address" 2>"$work/log" || { cat "$work/log" >&2; exit 1; }
            "${PYTHON:-python3}" - "$picture" "$width" <<'PYTHON'
import sys
from PIL import Image
picture = Image.open(sys.argv[1]).convert("RGB").crop((0, 0, int(sys.argv[2]), 900 if sys.argv[2] == "1300" else 844))
picture.quantize(64, dither=Image.Dither.NONE).save(sys.argv[1], optimize=True)
PYTHON
            echo "$picture"
        done
    done
done

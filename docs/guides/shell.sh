# Functions that the guides call. Source it in a checkout whose stack runs, in bash or zsh:
#
#   . docs/guides/shell.sh
#
# Without a KEY it makes a merchant of its own in the local stack: a new clock, and nothing that another guide has left. BASE
# and KEY, of another deployment too, may be set before. RUN is a suffix that makes e-mails and codes unique.
RUN=$(date +%s)
if [ ! -e .local/stack.json ] && [ -z "${KEY:-}" ]; then
  echo "No stack runs in this folder: start one with \"npm start\", or set BASE and KEY." >&2
  return 1 2> /dev/null || exit 1
fi
export BASE="${BASE:-$(node -p "require('./.local/stack.json').baseUrl")}"
if [ -z "${KEY:-}" ]; then
  echo "A merchant for this shell is being made …" >&2
  KEY=$(npm run -s merchant -- create --name "Guide $RUN" --email "guide-$RUN@example.com" --json 2> /dev/null |
    node -p "JSON.parse(require('fs').readFileSync(0, 'utf8')).apiKey")
fi
export KEY

# post <operation> <JSON, in which $NAMES are filled in>: POST /merchant/<operation>, and the answer as it came
post() {
  eval "cat <<JSON
$2
JSON" | curl -sS "$BASE/merchant/$1" -H "Authorization: Bearer $KEY" -H 'Content-Type: application/json' -d @-
}

# get <operation> [field=value …]: GET /merchant/<operation>, and the answer as it came
get() (
  operation=$1
  shift
  for field; do set -- "$@" --data-urlencode "$field"; shift; done
  curl -sS -G "$BASE/merchant/$operation" -H "Authorization: Bearer $KEY" "$@"
)

# … | pick <field>: a field of the answer's data, such as invoice.lines[0].amount; "@" behind a time makes it a date
pick() { _answer pick "$@"; }

# … | show <field> …: fields of the answer's data, each with its name; without a field nothing, but a failure is still told
show() { _answer show "$@"; }

# … | rows <list> <field> …: a line for each entry of a list of the answer's data
rows() { _answer rows "$@"; }

# … | failure: why the answer is a failure
failure() { _answer failure; }

# wait_for <field> <value> <operation> [field=value …]: until a field has that value, a minute at most
wait_for() (
  field=$1 wanted=$2 tries=0
  shift 2
  until [ "$(get "$@" | pick "$field")" = "$wanted" ]; do
    tries=$((tries + 1))
    if [ $tries -gt 240 ]; then echo "$field is not $wanted" >&2; return 1; fi
    sleep 0.25
  done
)

# advance <number of seconds>, <number>h, <number>d, or <month>-<day>, the next one: moves the merchant's clock, and
# waits until all that falls due on the way is done
advance() {
  post test_clock/advance "$(get test_clock | _answer advance "$1")" | show status > /dev/null || return 1
  while [ "$(get test_clock | pick status)" = advancing ]; do sleep 0.25; done
}

# sandbox_gateway: the gateway that charges test cards, which is set up where there is none
sandbox_gateway() {
  if ! get gateway/list | rows gateways gatewayName | grep -q '^sandbox$'; then
    post gateway/setup '{"gatewayName": "sandbox"}' | show > /dev/null || return 1
  fi
  get gateway/list | rows gateways gatewayName gatewayId | sed -n 's/^sandbox *//p'
}

_answer() {
  node -e '
    const [how, ...words] = process.argv.slice(1);
    const answer = JSON.parse(require("fs").readFileSync(0, "utf8"));
    if ((answer.code !== 0) !== (how === "failure")) {
      console.error(answer.code === 0 ? "it succeeded" : answer.error.type + ": " + answer.message);
      process.exit(1);
    }
    const date = at => (at ? new Date(at * 1000).toISOString().slice(0, 16).replace("T", " ") : "never");
    const text = value => (typeof value === "object" ? JSON.stringify(value) : String(value));
    const field = (from, path) => {
      let value = from;
      for (const part of path.replace("@", "").split(/[.[\]]+/).filter(Boolean)) value = value?.[part];
      return path.endsWith("@") ? date(value) : text(value);
    };
    const units = { h: 3600, d: 86400 };
    const ways = {
      pick: () => field(answer.data, words[0]),
      show: () => words.map(path => path + " " + field(answer.data, path)).join("\n"),
      rows: () => words[0].split(".").reduce((from, part) => from[part], answer.data).map(row => words.slice(1).map(path => field(row, path)).join("  ")).join("\n"),
      failure: () => answer.error.type + " (" + answer.code + "): " + answer.message,
      advance: () => {
        const [, month, day] = /^(\d\d)-(\d\d)$/.exec(words[0]) ?? [];
        if (!month) return JSON.stringify({ seconds: parseInt(words[0]) * (units[words[0].at(-1)] ?? 1) });
        const year = new Date(answer.data.now * 1000).getUTCFullYear();
        const days = [year, year + 1].map(each => Date.UTC(each, month - 1, day) / 1000);
        return JSON.stringify({ to: days.find(at => at > answer.data.now) });
      },
    };
    const said = ways[how]();
    if (said !== "") console.log(said);
  ' -- "$@"
}

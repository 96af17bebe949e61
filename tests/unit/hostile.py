"""Names that a shell, a path, a pattern or a formula could read as something else."""

NAMES = [
    *("a;touch PWNED;.csv", "$(touch PWNED)", "`touch PWNED`", "a|touch PWNED", "a&touch PWNED&"),
    *("a>PWNED", "a<PWNED", "x' ; touch PWNED ; '", 'x" ; touch PWNED ; "', "a && touch PWNED"),
    *("my table.csv", " blank before", "blank behind ", "table(1).csv", "[x]", "a*b", "a?b"),
    *("{dataset}", "{", "a}b", "{a,b}", "{{x}}", "a$HOME.csv", "${IFS}", "$x^2$ and $y$", "$$"),
    *("~", "~root", "-rf", "--help", "--output=x=PWNED", ".hidden", "_x.csv.json", "a.b.."),
    *("%0A", "%s%n%j", "a\\b", "\\", "a,b=c", "a:b", "a=b", "a+2Fb", "#x", "!x", "^x_{2}", "@x"),
    *("Müßte ça.csv", "数据.csv", "🦊", "ребёнок", "e\u0301", "CON", "nul.csv"),
    *("x" * 255, "数" * 85, "<b onclick=alert(1)>", "x.json", "README.md", "table.html", "NaN"),
    *("no", "0"),
]
REFUSED = ["a\nb", "a\tb", "a\0b", "\u202egnp.csv", "x\u200f", "\x1b[31mred", "a\r", "\u2028"]
REFUSED_FILES = ["", ".", "..", "a/..", "a/", "/"]

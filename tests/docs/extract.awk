# Writes each ```cpp block of a Markdown document to its own file in `directory`, with #line directives, so that the
# compiler reports the document's lines. Prints "program NAME" or "snippet NAME" for each; status 1 for a bad mark.
#   awk -v directory=DIR -f extract.awk DOCUMENT
# A block without an #include gets <weft/weft.hpp>. Invisible comments describe the block that follows them:
#   <!-- sketch -->         is not compiled
#   <!-- program NAME -->   is a whole program (a block with main() must have a name)
#   <!-- before             up to -->: C++ text that precedes the block; with `after`, text that follows it
function fail(why) {
    print FILENAME ":" FNR ": " why > "/dev/stderr"
    failed = 1
    exit 1
}
function finish(   name, file) {
    if (!sketch) {
        if (block ~ /int main\(/ && program == "") fail("a block with main() needs a <!-- program NAME --> before it")
        name = program != "" ? program : stem "_" ++count
        file = directory "/" name ".cpp"
        if (block !~ /#include/ && before == "") before = "#include <weft/weft.hpp>\n"
        printf "%s#line %d \"%s\"\n%s%s", before, start, FILENAME, block, after > file
        close(file)
        print (program != "" ? "program " : "snippet ") name
    }
    program = before = after = block = ""
    sketch = inBlock = 0
}
FNR == 1 {
    stem = FILENAME
    sub(/.*\//, "", stem)
    sub(/\.md$/, "", stem)
    gsub(/[^A-Za-z0-9]/, "_", stem)
}
inBlock && /^```/ { finish(); next }
inBlock { block = block $0 "\n"; next }
mark != "" {
    last = $0 ~ /-->$/
    sub(/-->$/, "")
    if (mark == "before") before = before $0 "\n"
    else after = after $0 "\n"
    if (last) mark = ""
    next
}
/^<!-- (before|after)$/ { mark = $2; next }
/^<!-- sketch -->$/ { sketch = 1; next }
/^<!-- program [A-Za-z0-9_]+ -->$/ { program = $3; next }
/^```cpp$/ { inBlock = 1; start = FNR + 1; next }
/^<!-- (sketch|program|before|after)/ { fail("no such mark: " $0) }
/./ && (sketch || program != "" || before != "" || after != "") { fail("a mark above belongs to no ```cpp block") }
END { if (!failed && (inBlock || mark != "")) { print FILENAME ": ends inside a block or a mark" > "/dev/stderr"; exit 1 } }

// What compiles the precompiled header of tests/CMakeLists.txt.

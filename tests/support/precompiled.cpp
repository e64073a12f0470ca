// Compiles the precompiled header of tests/CMakeLists.txt.

// What compiles the precompiled header of examples/CMakeLists.txt.
